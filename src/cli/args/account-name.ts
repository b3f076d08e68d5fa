// Names of accounts that a person takes for one another: they differ only by case, or by letters that look alike.

/** Letters of other alphabets, digits and marks that are drawn like a Latin letter; after lower-casing. */
const LOOKS: Readonly<Record<string, string>> = {
  а: 'a',
  в: 'b',
  с: 'c',
  ԁ: 'd',
  е: 'e',
  һ: 'h',
  і: 'l',
  ј: 'j',
  к: 'k',
  м: 'm',
  н: 'h',
  о: 'o',
  р: 'p',
  ѕ: 's',
  т: 't',
  у: 'y',
  ѵ: 'v',
  ԝ: 'w',
  х: 'x',
  α: 'a',
  β: 'b',
  ε: 'e',
  η: 'n',
  ι: 'l',
  κ: 'k',
  ν: 'v',
  ο: 'o',
  ρ: 'p',
  τ: 't',
  υ: 'u',
  χ: 'x',
  ı: 'l',
  i: 'l',
  '1': 'l',
  '|': 'l',
  '0': 'o',
};

function look(name: string): string {
  const plain = name.normalize('NFKC').toLowerCase().replace(/\s+/gu, ' ');
  return [...plain].map((char) => LOOKS[char] ?? char).join('');
}

/** The first of the others that looks like `name` and is another. */
export function lookalike(name: string, others: readonly string[]): string | undefined {
  const wanted = look(name);
  return others.find((other) => other !== name && look(other) === wanted);
}
