import { unknowable } from "./unknowable.js";

/** Where a secret comes from. */
export type Secret<Env> = (env: Env) => string | undefined | Promise<string | undefined>;

/**
 * Asks for a secret.
 *
 * @throws {Refusal} 503 where there is none or it is too short; the log says which, and nothing of its value
 */
export async function secretOf<Env>(
  name: string,
  secret: Secret<Env>,
  env: Env,
  minBytes: number,
): Promise<Uint8Array> {
  let value: unknown;
  try {
    value = await secret(env);
  } catch {
    // what it threw is not ours, and may hold the value
    throw unknowable(`${name}: its function threw`);
  }
  if (typeof value !== "string" || value === "") throw unknowable(`${name}: is empty; is the secret set?`);
  const bytes = new TextEncoder().encode(value);
  if (bytes.byteLength < minBytes) throw unknowable(`${name}: is shorter than ${minBytes} bytes`);
  return bytes;
}
