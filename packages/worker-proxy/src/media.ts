import { Refusal } from "./refusal.js";
import type { Settings } from "./settings.js";

/** The fields whose addresses the gateway goes to; in any case, because a gateway may read them in any. */
const FIELDS = /^(?:url|image|image_url|video_url|audio_url)$/i;

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
    else if (typeof value === "object" && value !== null) open.push(...Object.entries(value));
  }

  function checkAddress(name: string, address: string): void {
    if (/^asset:/.test(address)) return;
    // plain Base64 is data too
    if (/^data:/i.test(address) || !address.includes(":")) {
      if (address.length * 0.75 > limits.dataURIBytes) throw refused(name, "is too large");
    } else if (!URL.canParse(address) || !isAllowed(new URL(address)))
      throw refused(name, "must be a public https address");
  }

  function isAllowed(url: URL): boolean {
    return typeof media === "function" ? media(url) : isPublic(url);
  }
}

/** By name, and by one that is known everywhere. No number: those of private networks have many spellings. */
function isPublic({ protocol, hostname, username, password }: URL): boolean {
  return (
    protocol === "https:" &&
    !username &&
    !password &&
    /\.[a-z][a-z0-9-]*\.?$/.test(hostname) &&
    !/\.(?:localhost|localdomain|local|internal|intranet|private|lan|home|corp|arpa|test|invalid|onion)\.?$/.test(
      hostname,
    )
  );
}

function refused(param: string, problem: string): Refusal {
  return new Refusal(400, "media_not_allowed", `${param} ${problem}`, { param: param.slice(0, 40) });
}
