import type { AdmittedRequest } from "@sluice/worker-proxy";
import { isFile, Refusal, signMark } from "@sluice/worker-proxy/plugin";

/** Ids of files and links to them. An id names its owner, a link is open to everyone who has it until it expires. */
export type Links = ReturnType<typeof createLinks>;

const ID = /^[\w-]{44}$/;
const LINK = /^(?<id>[\w-]{44})_(?<end>[0-9a-z]{8,9})_(?<mark>[\w-]{22})$/;

/** Length of an encoded mark, and of 16 random bytes. */
const MARK_LENGTH = 22;

/** Characters that readers of addresses leave out: spaces, lines, marks that can't be seen. */
const LEFT_OUT = /[\s\p{Cc}\p{Cf}]+/gu;

/**
 * Returns the last part of an address that leads to a link of this kind; undefined for other addresses. The path decides,
 * as a reader of addresses finds it: dots, backslashes, percent signs and a fragment change nothing. The host is left
 * open: a link is one wherever it seems to lead.
 */
export function findLink(address: string): string | undefined {
  const { pathname = "" } = URL.parse(address.replace(LEFT_OUT, ""), "https://any.invalid") ?? {};
  const path = pathname.replace(/%[0-7][\da-f]/gi, decodeURIComponent).replace(LEFT_OUT, "");
  const [, link = ""] = /\/v1\/media\/([\w-]+)$/.exec(path.slice(-100)) ?? [];
  return LINK.test(link) ? link : undefined;
}

/** Returns the id of the file that an address leads to, also where its link has expired; undefined for other addresses. */
export function findFileId(address: string): string | undefined {
  return findLink(address)?.slice(0, 2 * MARK_LENGTH);
}

/** @param secrets the first one signs, each of them is known */
export function createLinks(secrets: readonly string[]) {
  const [first = ""] = secrets;
  return {
    /** Makes the id of a new file: 128 random bits, with the mark of its owner. */
    async createId(userId: string): Promise<string> {
      const bytes = crypto.getRandomValues(new Uint8Array(16));
      const base64 = btoa(String.fromCharCode(...bytes)).slice(0, MARK_LENGTH);
      const random = base64.replaceAll("+", "-").replaceAll("/", "_");
      return random + (await signText(first, `owner:${random}:${userId}`));
    },
    /** Returns true if the id was made for this user. */
    async isOwn(id: string, userId: string): Promise<boolean> {
      const random = id.slice(0, MARK_LENGTH);
      return ID.test(id) && (await isSigned(`owner:${random}:${userId}`, id.slice(MARK_LENGTH)));
    },
    /** Makes the last part of a link. */
    async sign(id: string, expiresAt: number): Promise<string> {
      const end = expiresAt.toString(36);
      return `${id}_${end}_${await signText(first, `link:${id}:${end}`)}`;
    },
    /** Returns the id of a file and the end of the link; undefined for a link that was not made here, or has expired. */
    async verify(link: string) {
      const { id = "", end = "", mark = "" } = LINK.exec(link)?.groups ?? {};
      const expiresAt = Number.parseInt(end, 36);
      // the mark is checked first: it shows that the end was not made up
      if (!(await isSigned(`link:${id}:${end}`, mark)) || !(expiresAt > Date.now())) return undefined;
      return { id, expiresAt };
    },
  };

  async function isSigned(text: string, mark: string): Promise<boolean> {
    for (const secret of secrets) if (isSame(mark, await signText(secret, text))) return true;
    return false;
  }
}

/** Signs a text. The prefix makes it differ from the ids of the proxy. */
function signText(secret: string, text: string): Promise<string> {
  return signMark(secret, `media:${text}`);
}

/** Compares in constant time, so that a client can't guess a mark letter by letter. */
function isSame(one: string, other: string): boolean {
  let difference = one.length ^ other.length;
  for (let at = 0; at < one.length; at += 1) difference |= one.charCodeAt(at) ^ other.charCodeAt(at);
  return difference === 0;
}

/**
 * Refuses links that were not made for the user of a request, or have expired.
 *
 * @throws {Refusal} 400 `media_not_allowed`
 */
export async function checkLinks<Env>(
  { addresses = [], env, user }: AdmittedRequest<Env>,
  readLinks: (env: Env) => Promise<Links>,
): Promise<void> {
  const links = addresses.flatMap((text) => (isFile(text) ? [] : (findLink(text) ?? [])));
  if (links.length === 0) return;
  const { isOwn, verify } = await readLinks(env);
  for (const link of links) {
    const known = await verify(link);
    const what = "is no file of yours, or its link has expired; upload it again";
    if (!known || !(await isOwn(known.id, user.id))) throw new Refusal("media_not_allowed", { what });
  }
}

/** Tells whether an address has the form of a link of this proxy. {@link checkLinks} decides about each link. */
export function isLinkAddress({ href }: URL, publicURL: string | undefined): boolean {
  if (publicURL === undefined) return false;
  return href === `${publicURL.replace(/\/+$/, "")}/v1/media/${findLink(href)}`;
}
