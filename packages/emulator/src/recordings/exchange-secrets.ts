import type { Redactor } from "../server/secrets.js";

const SECRET_NAME = /key|token|auth|secret|session|cookie|signature|password|credential/i;
/** Names of headers whose values are never secrets. */
const HARMLESS_HEADER =
  /^(?:accept.*|cache-control|connection|content-.*|date|host|idempotency-key|origin|pragma|referer|sec-.*|te|trace.*|transfer-encoding|user-agent|x-request-id|x-stainless-.*)$/;

/** Adds the secrets of a request to the redactor, which then also finds them in the response. */
export function addSecrets(request: Request, body: unknown, redactor: Redactor): void {
  request.headers.forEach((value, name) => {
    if (HARMLESS_HEADER.test(name) || !(SECRET_NAME.test(name) || looksSecret(value))) return;
    addHeader(value, redactor);
  });
  const { searchParams, username, password } = new URL(request.url);
  for (const [name, value] of searchParams)
    if (SECRET_NAME.test(name) || looksSecret(value)) redactor.add(value);
  redactor.add(username);
  redactor.add(password);
  addFields(body, redactor);
}

/** Adds the cookies and tokens of a response to the redactor. */
export function addResponseSecrets(headers: Headers, redactor: Redactor): void {
  headers.forEach((value, name) => {
    if (SECRET_NAME.test(name)) addHeader(value, redactor);
  });
}

/** Adds the value of a header, its part after a scheme such as `Bearer`, its cookies, and the parts of `Basic`. */
function addHeader(value: string, redactor: Redactor): void {
  redactor.add(value);
  const [, scheme = "", rest = ""] = /^(\w+) +(.+)$/.exec(value) ?? [];
  redactor.add(rest);
  if (/^basic$/i.test(scheme)) for (const part of decodeBase64(rest).split(":")) redactor.add(part);
  for (const cookie of value.split(/; */)) redactor.add(cookie.slice(cookie.indexOf("=") + 1));
}

function addFields(value: unknown, redactor: Redactor): void {
  if (typeof value !== "object" || value === null) return;
  for (const [name, field] of Object.entries(value)) {
    if (
      typeof field === "string" &&
      /^(?:api[-_]?key|authorization|password|secret|(?:access|auth)[-_]?token)$/i.test(name)
    )
      redactor.add(field);
    else addFields(field, redactor);
  }
}

/** Decodes Base64. Returns an empty text for an invalid value. */
function decodeBase64(base64: string): string {
  try {
    return atob(base64);
  } catch {
    return "";
  }
}

/** Checks for a long value with digits and without spaces, as keys have. */
function looksSecret(value: string): boolean {
  return value.length >= 16 && /\d/.test(value) && !/\s/.test(value);
}
