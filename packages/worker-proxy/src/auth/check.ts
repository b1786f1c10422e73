/** @throws {TypeError} when it is no text, or an empty one */
export function checkText(name: string, value: unknown, example: string): string {
  if (typeof value !== "string" || value === "") throw new TypeError(`${name}: give a text, ${example}`);
  return value;
}

/** @throws {TypeError} when it is neither a text nor a list of them; an empty list would let nobody in */
export function checkTexts(name: string, value: unknown, example: string): string[] {
  const texts: unknown[] = Array.isArray(value) ? value : [value];
  if (texts.length === 0) throw new TypeError(`${name}: give at least one, ${example}`);
  return texts.map((text) => checkText(name, text, example));
}

/** @throws {TypeError} when it is no function */
export function checkFunction(name: string, value: unknown, example: string): void {
  if (typeof value !== "function") throw new TypeError(`${name}: give a function, ${example}`);
}

/** @throws {TypeError} when it is no whole number between the two */
export function checkWhole(name: string, value: number, least: number, most: number): number {
  if (!Number.isInteger(value) || value < least || value > most)
    throw new TypeError(`${name}: give a whole number from ${least} to ${most}`);
  return value;
}

/** @throws {TypeError} when keys could be swapped on the way from there */
export function checkKeysURL(value: unknown): string {
  const text = value instanceof URL ? value.href : value;
  if (typeof text !== "string" || !URL.canParse(text)) throw new TypeError("jwks: is no URL");
  const { protocol, hostname, username, password, href } = new URL(text);
  const isLocal = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname);
  if (protocol !== "https:" && !(protocol === "http:" && isLocal)) throw new TypeError("jwks: must be https");
  if (username || password) throw new TypeError("jwks: must have no name or password");
  return href;
}
