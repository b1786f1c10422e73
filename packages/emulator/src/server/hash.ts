/** Prime of the 32-bit FNV-1a hash. */
const FNV_PRIME = 0x01000193;

/**
 * Returns 16 hex digits that depend only on `text`, so that equal requests get equal texts and ids. Uses two 32-bit
 * FNV-1a hashes. Not fit for secrets.
 */
export function hash(text: string): string {
  let left = 0x811c9dc5;
  let right = 0x3c6ef372;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    left = Math.imul(left ^ unit, FNV_PRIME);
    right = Math.imul(right ^ unit ^ (index & 0xff), FNV_PRIME);
  }
  return formatHex(left ^ (right >>> 15)) + formatHex(right ^ (left >>> 13));
}

/** Picks one of `options`. The same `seed` always picks the same option. */
export function pick<Option>(options: readonly [Option, ...Option[]], seed: string): Option {
  const index = Number.parseInt(hash(seed).slice(0, 8), 16) % options.length;
  return options[index] ?? options[0];
}

function formatHex(number: number): string {
  return (number >>> 0).toString(16).padStart(8, "0");
}
