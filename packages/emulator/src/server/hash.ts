const PRIME = 0x01000193;

/**
 * Returns 16 hex digits that depend on `text` alone, so that equal requests get equal texts and ids. It has two 32-bit
 * FNV-1a lanes and is not fit for secrets.
 */
export function hash(text: string): string {
  let left = 0x811c9dc5;
  let right = 0x3c6ef372;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    left = Math.imul(left ^ unit, PRIME);
    right = Math.imul(right ^ unit ^ (at & 0xff), PRIME);
  }
  return hex(left ^ (right >>> 15)) + hex(right ^ (left >>> 13));
}

/** Picks one of `options`, always the same one for the same `seed`. */
export function pick<Option>(options: readonly [Option, ...Option[]], seed: string): Option {
  const index = Number.parseInt(hash(seed).slice(0, 8), 16) % options.length;
  return options[index] ?? options[0];
}

function hex(number: number): string {
  return (number >>> 0).toString(16).padStart(8, "0");
}
