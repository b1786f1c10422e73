import { type AdmittedRequest, createSigner, Refusal } from "@sluice/worker-proxy/plugin";

/**
 * Creates and verifies ids of files and links to them. An id contains a signature for its owner. Everyone who has a
 * link can use it until it expires.
 */
export type Links = ReturnType<typeof createLinks>;

const ID = /^[\w-]{44}$/;
const LINK = /^(?<id>[\w-]{44})_(?<expiry>[0-9a-z]{8,9})_(?<signature>[\w-]{22})$/;

/** Length of an encoded signature, and of 16 encoded random bytes, in characters. */
const SIGNATURE_LENGTH = 22;
/** An id is 16 random bytes and a signature. */
const ID_LENGTH = 2 * SIGNATURE_LENGTH;
/** Bound of a path for the expression: the longest path of a link has 87 characters. */
const MAX_LINK_PATH = 100;

/** Characters that URL parsers may ignore: whitespace, control and format characters. */
const IGNORED_CHARACTERS = /[\s\p{Cc}\p{Cf}]+/gu;

/**
 * Returns the last path segment of an address that contains a link; undefined for other addresses. Only the path
 * matters, normalized as a URL parser does: dots, backslashes, percent-encoding and a fragment can't hide a link. The
 * host is ignored, so that a link counts under every host.
 */
export function findLink(address: string): string | undefined {
  const { pathname = "" } = URL.parse(address.replace(IGNORED_CHARACTERS, ""), "https://any.invalid") ?? {};
  const path = pathname.replace(/%[0-7][\da-f]/gi, decodeURIComponent).replace(IGNORED_CHARACTERS, "");
  const [, link = ""] = /\/v1\/media\/([\w-]+)$/.exec(path.slice(-MAX_LINK_PATH)) ?? [];
  return LINK.test(link) ? link : undefined;
}

/** Returns the file id of a link address, even of an expired link; undefined for other addresses. */
export function findFileId(address: string): string | undefined {
  return findLink(address)?.slice(0, ID_LENGTH);
}

/** @param secrets the first secret signs; each secret verifies */
export function createLinks(secrets: readonly string[]) {
  const signer = createSigner(secrets);
  // the prefix separates these signatures from the proxy's signatures of ids
  const signText = (text: string) => signer.sign(`media:${text}`);
  const isSigned = (text: string, signature: string) => signer.verify(`media:${text}`, signature);
  return {
    /** Creates the id of a new file: 128 random bits, and a signature for its owner. */
    async createId(userId: string): Promise<string> {
      const bytes = crypto.getRandomValues(new Uint8Array(16));
      const base64 = btoa(String.fromCharCode(...bytes)).slice(0, SIGNATURE_LENGTH);
      const random = base64.replaceAll("+", "-").replaceAll("/", "_");
      return random + (await signText(`owner:${random}:${userId}`));
    },
    /** Returns true if the id was made for this user. */
    async isOwn(id: string, userId: string): Promise<boolean> {
      const random = id.slice(0, SIGNATURE_LENGTH);
      return ID.test(id) && (await isSigned(`owner:${random}:${userId}`, id.slice(SIGNATURE_LENGTH)));
    },
    /** Creates the last path segment of a link. */
    async sign(id: string, expiresAt: number): Promise<string> {
      const expiry = expiresAt.toString(36);
      return `${id}_${expiry}_${await signText(`link:${id}:${expiry}`)}`;
    },
    /**
     * Returns the id of a file and the expiry of the link; undefined for a link that is expired or has an invalid
     * signature.
     */
    async verify(link: string) {
      const { id = "", expiry = "", signature = "" } = LINK.exec(link)?.groups ?? {};
      const expiresAt = Number.parseInt(expiry, 36);
      const isAuthentic = await isSigned(`link:${id}:${expiry}`, signature);
      return isAuthentic && expiresAt > Date.now() ? { id, expiresAt } : undefined;
    },
  };
}

/**
 * Refuses links that are expired or belong to another user.
 *
 * @throws {Refusal} 400 `media_not_allowed`
 */
export async function checkLinks<Env>(
  { addresses = [], env, user }: AdmittedRequest<Env>,
  readLinks: (env: Env) => Promise<Links>,
): Promise<void> {
  const links = addresses.flatMap((text) => findLink(text) ?? []);
  if (links.length === 0) return;
  const { isOwn, verify } = await readLinks(env);
  for (const link of links) {
    const verified = await verify(link);
    const what = "is not your file, or its link has expired; upload it again";
    if (!verified || !(await isOwn(verified.id, user.id))) throw new Refusal("media_not_allowed", { what });
  }
}

/** Returns true if a URL has the form of a link of this proxy. {@link checkLinks} verifies each link. */
export function isLinkAddress({ href }: URL, publicURL: string | undefined): boolean {
  if (publicURL === undefined) return false;
  return href === `${publicURL.replace(/\/+$/, "")}/v1/media/${findLink(href)}`;
}
