// tests.js COMMAND FOLDER: runs a command that ends with an npm script of tests (`npm run test:quick`), writes "passed failed" to FOLDER/counts and appends the names and the
// first lines of failures to FOLDER/failures. Files with a failure run once more, alone: two cores run the suite beside a browser and
// three databases, and only what fails there too is counted. Both failures are named.
import { spawnSync } from 'node:child_process';
import { appendFileSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import process from 'node:process';

const [, , command, folder] = process.argv;
const report = join(folder, 'report.json');
const failures = join(folder, 'failures');

/** Runs a line of the shell that tests; @returns {{ passed: number, failed: number, files: string[] }} */
function run(line) {
  rmSync(report, { force: true });
  const reporters = `--reporter=default --reporter=json --outputFile.json='${report}'`;
  const { status } = spawnSync('sh', ['-c', `${line} ${reporters}`], { stdio: 'inherit' });
  if (!existsSync(report)) {
    appendFileSync(failures, `CI: ${line} ended with ${status}, without a report\n`);
    return { passed: 0, failed: 1, files: [] };
  }
  const { numPassedTests: passed, testResults } = JSON.parse(readFileSync(report, 'utf8'));
  const failedFiles = testResults.filter((file) => file.status === 'failed');
  let failed = 0;
  for (const file of failedFiles) {
    const tests = file.assertionResults.filter((test) => test.status === 'failed');
    failed += Math.max(tests.length, 1);
    for (const test of tests.length > 0
      ? tests
      : [{ fullName: 'the file', failureMessages: [file.message] }]) {
      const message = test.failureMessages
        .join('\n')
        .split('\n')
        .filter((line) => !/node_modules|at new Promise/.test(line))
        .slice(0, 12)
        .join('\n    ');
      appendFileSync(
        failures,
        `CI: failed: ${relative('.', file.name)} > ${test.fullName}\n    ${message}\n`,
      );
    }
  }
  if (failed === 0 && (status !== 0 || passed === 0)) {
    appendFileSync(failures, `CI: ${line} ended with ${status}, after ${passed} tests\n`);
    failed = 1;
  }
  return { passed, failed, files: failedFiles.map((file) => relative('.', file.name)) };
}

let { passed, failed, files } = run(`${command} --`);
if (files.length > 0) {
  appendFileSync(failures, 'CI: and run again, alone:\n');
  const again = run(`npx vitest run --maxWorkers=1 ${files.map((file) => `'${file}'`).join(' ')}`);
  if (again.failed === 0) appendFileSync(failures, '    all passed\n');
  passed += failed - again.failed;
  failed = again.failed;
}
writeFileSync(join(folder, 'counts'), `${passed} ${failed}\n`);
