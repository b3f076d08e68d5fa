// Members are named in camel case here and in snake case in files, in JSON and in databases.

export function snakeCase(member: string): string {
  return member.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
