import type { AdmittedRequest, MediaURLs, ProxyPlugin } from "@sluice/worker-proxy";
import { isFile, isPublic, Refusal } from "@sluice/worker-proxy/internal";
import { type Links, linkIn } from "./links.js";

/**
 * Makes the `send` of an extension that refuses links which are not its user's own, or have expired. It asks the other
 * plugins itself, since only the first that answers is asked.
 *
 * @throws {Refusal} 400 `media_not_allowed`
 */
export function checkLinks<Env>(
  linksIn: (env: Env) => Promise<Links>,
  others: readonly ProxyPlugin<Env>[],
): NonNullable<ProxyPlugin<Env>["send"]> {
  return (admitted, isMetered) => {
    const addresses = (admitted.addresses ?? []).filter((text) => !isFile(text));
    const links = addresses.map(linkIn).filter((link) => link !== undefined);
    return links.length === 0 ? undefined : (checked(links, admitted, isMetered) as Promise<Response>);
  };

  /** Resolves to undefined where the gateway is to answer. */
  async function checked(links: readonly string[], admitted: AdmittedRequest<Env>, isMetered: boolean) {
    const { isOwn, verify } = await linksIn(admitted.env);
    for (const link of links) {
      const known = await verify(link);
      const what = "is no file of yours, or its link has expired; upload it again";
      if (!known || !(await isOwn(known.id, admitted.user.id)))
        throw new Refusal("media_not_allowed", { what });
    }
    let answer: Promise<Response> | undefined;
    for (const other of others) answer ??= other.send?.(admitted, isMetered);
    return await answer;
  }
}

/** Adds the links' own address to the rule of media; `checkLinks` decides about each link. */
export function allowLinks(media: MediaURLs = "public", publicURL: string | undefined): MediaURLs {
  if (media === "any" || publicURL === undefined) return media;
  const base = publicURL.replace(/\/+$/, "");
  const isOwn = ({ href }: URL) => href === `${base}/v1/media/${linkIn(href)}`;
  return (url) => isOwn(url) || (media === "public" ? isPublic(url) : media(url));
}
