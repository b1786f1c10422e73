import type { Redactor } from "../server/secrets.js";

const SECRET_NAME = /key|token|auth|secret|session|cookie|signature|password|credential/i;
/** Headers whose values are never secrets, however long. */
const HARMLESS =
  /^(?:accept.*|cache-control|connection|content-.*|date|host|idempotency-key|origin|pragma|referer|sec-.*|te|trace.*|transfer-encoding|user-agent|x-request-id|x-stainless-.*)$/;

/** Adds the secrets of a request, so that they are also found where the gateway repeats them. */
export function addSecrets(request: Request, body: unknown, redactor: Redactor): void {
  request.headers.forEach((value, name) => {
    if (HARMLESS.test(name) || !(SECRET_NAME.test(name) || isLikeSecret(value))) return;
    addHeader(value, redactor);
  });
  const { searchParams, username, password } = new URL(request.url);
  for (const [name, value] of searchParams)
    if (SECRET_NAME.test(name) || isLikeSecret(value)) redactor.add(value);
  redactor.add(username);
  redactor.add(password);
  addFields(body, redactor);
}

/** Adds the cookies and tokens that a response sets. */
export function addResponseSecrets(headers: Headers, redactor: Redactor): void {
  headers.forEach((value, name) => {
    if (SECRET_NAME.test(name)) addHeader(value, redactor);
  });
}

/** Adds a header: the whole, the part after its scheme, each cookie, and the parts of `Basic`. */
function addHeader(value: string, redactor: Redactor): void {
  redactor.add(value);
  const [, scheme = "", rest = ""] = /^(\w+) +(.+)$/.exec(value) ?? [];
  redactor.add(rest);
  if (/^basic$/i.test(scheme)) for (const part of decode(rest).split(":")) redactor.add(part);
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

function decode(base64: string): string {
  try {
    return atob(base64);
  } catch {
    return "";
  }
}

function isLikeSecret(value: string): boolean {
  return value.length >= 16 && /\d/.test(value) && !/\s/.test(value);
}
