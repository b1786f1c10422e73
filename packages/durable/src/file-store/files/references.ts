import type { AdmittedRequest } from "@sluice/worker-proxy";
import { isFile, Refusal } from "@sluice/worker-proxy/plugin";
import { findLink, type Links } from "./links.js";

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
