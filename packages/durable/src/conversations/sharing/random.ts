import { lettersOf } from "@sluice/worker-proxy/internal";

/** Returns 22 random letters that an address may have: 128 bits. */
export function randomLetters(): string {
  return lettersOf(crypto.getRandomValues(new Uint8Array(16)));
}
