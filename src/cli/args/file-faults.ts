// Why a file that a command line names cannot be read or written: the file, the reason, and what to do.
import { CliError } from '../../cli-error.ts';

type Access = 'read' | 'written';

const BOTH: Readonly<Record<string, string>> = {
  EISDIR: 'it is a folder; name the file in it',
  ENOTDIR: 'a part of its path is a file, not a folder; check the path',
  ENAMETOOLONG: 'its name is too long; choose a shorter one',
  ELOOP: 'its links lead in a circle; name another file',
  EMFILE: 'this process has too many open files; raise ulimit -n',
};

const REASONS: Readonly<Record<Access, Readonly<Record<string, string>>>> = {
  read: {
    ...BOTH,
    ENOENT: 'it does not exist; check the name',
    EACCES: 'this user may not read it; give the permission, or name a copy',
    EPERM: 'this user may not read it; give the permission, or name a copy',
  },
  written: {
    ...BOTH,
    ENOENT: 'its folder does not exist; create the folder, or name another',
    EACCES: 'this user may not write into its folder; name another folder',
    EPERM: 'this user may not write into its folder; name another folder',
    EROFS: 'its folder can only be read; name another folder',
    ENOSPC: 'the disk is full; free some space, or name a folder on another disk',
    EDQUOT: 'the quota of this user is used up; free some space, or name a folder on another disk',
    EFBIG: 'it would be larger than this user or file system allows; name a folder on another disk',
  },
};

/** Of an error of the file system. */
export function fileFault(file: string, access: Access, error: unknown): CliError {
  const { code, message } = Object(error) as Partial<NodeJS.ErrnoException>;
  const reasons = REASONS[access];
  const known = code !== undefined && Object.hasOwn(reasons, code) ? reasons[code] : undefined;
  const why = known ?? `${message ?? String(error)}; name another file`;
  return new CliError(`the file ${file} cannot be ${access}: ${why}`, 1, error);
}

/** Whether the operating system refused a call. */
export const isSystemError = (error: unknown): boolean =>
  error instanceof Error && 'syscall' in error && 'code' in error;
