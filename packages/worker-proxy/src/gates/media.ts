import { Refusal } from "../refusal.js";
import type { Settings } from "../settings.js";

/**
 * The fields whose addresses the gateway goes to, and those that by their name could be some; in any case, because a
 * gateway may read them in any.
 */
const FIELDS = /^(?:(?:\w+_)?ur[il]s?|images?)$/i;

/**
 * An address that everybody reads alike. A backslash, an `@`, a tab or a `#` behind the host leads some readers to
 * another host, and what was checked here would not be where the gateway goes.
 */
const PLAIN = /^[a-z][a-z\d+.-]*:\/\/[\p{L}\p{M}\p{N}.:[\]-]+(?:\/\P{Cc}*)?$/iu;
/** What Base64 does not have. A path begins like that of a JPEG alone. */
const NO_BASE64 = /[^\w+/=\s-]|^\s*\/(?!9j\/)/;

/**
 * Refuses what the gateway should not be sent to fetch on a user's word: addresses inside somebody's network, files,
 * pages without TLS, and data that is too large.
 *
 * @throws {Refusal} 400 `media_not_allowed`
 */
export function checkMedia(body: object, { media, limits }: Settings): void {
  if (media === "any") return;
  const open: [name: string, value: unknown][] = Object.entries(body);
  for (let next = open.pop(); next; next = open.pop()) {
    const [name, value] = next;
    if (typeof value === "string" && FIELDS.test(name)) checkAddress(name, value);
    // what is in a list has the list's name
    else if (Array.isArray(value)) for (const entry of value) open.push([name, entry]);
    else if (typeof value === "object" && value !== null)
      // one by one: as many arguments as a body can have fields would be too many
      for (const entry of Object.entries(value)) open.push(entry);
  }

  function checkAddress(name: string, address: string): void {
    if (/^asset:/.test(address)) return;
    // plain Base64 is data too
    if (/^data:/i.test(address) || !NO_BASE64.test(address)) {
      if (address.length * 0.75 > limits.dataURIBytes) throw refused(name, "is too large");
    } else if (!PLAIN.test(address) || !URL.canParse(address) || !isAllowed(new URL(address)))
      throw refused(name, "must be a public https address");
  }

  function isAllowed(url: URL): boolean {
    // a promise is true to everybody, whatever it will say
    return typeof media === "function" ? media(url) === true : isPublic(url);
  }
}

/** By name, and by one that is known everywhere. No number: those of private networks have many spellings. */
function isPublic({ protocol, hostname }: URL): boolean {
  return (
    protocol === "https:" &&
    /\.[a-z][a-z0-9-]*\.?$/.test(hostname) &&
    !/\.(?:localhost|localdomain|local|internal|intranet|private|lan|home|corp|svc|consul|arpa|test|invalid|onion)\.?$/.test(
      hostname,
    )
  );
}

function refused(param: string, problem: string): Refusal {
  return new Refusal(400, "media_not_allowed", `${param} ${problem}`, { param: param.slice(0, 40) });
}
