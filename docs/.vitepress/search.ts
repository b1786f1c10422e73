import type { DefaultTheme } from "vitepress";

/** Part of a page's text that is searched and not shown: the words of its front matter's `keywords`. */
const hidden = (words: string) => `<p>⟦${words}⟧</p>`;

/** Functions are sent to the page as text, so that each has to stand alone. */
const index = {
  // the two of the theme, and keywords
  fields: ["title", "titles", "text", "keywords"],
  storeFields: ["title", "titles"],
  extractField: (section: Readonly<Record<string, string>>, field: string) => {
    if (field === "keywords") return /⟦(.*?)⟧/.exec(section["text"] ?? "")?.[1] ?? "";
    if (field === "text") return section["text"]?.replace(/⟦.*?⟧/, "") ?? "";
    return section[field] as string;
  },
};

const ranking = {
  fuzzy: 0.2,
  prefix: true,
  boost: { title: 4, text: 2, titles: 1, keywords: 12 },
  // tasks first, then names, and last what few readers look for
  boostDocument: (id: string) => {
    if (/^\/(decisions|spec|everywhere|performance)/.test(id)) return 0.4;
    return id.startsWith("/reference/") ? 0.5 : 1;
  },
};

/** Options of the index, for the tests. */
export const searchOptions = { ...index, searchOptions: ranking };

/**
 * The search in the page. People search by the words of their task, "postgres" or "german", and a page names its own by
 * `keywords` in its front matter.
 */
export const search: NonNullable<DefaultTheme.Config["search"]> = {
  provider: "local",
  options: {
    detailedView: true,
    async _render(source, env, md) {
      const html = await md.renderAsync(source, env);
      const { keywords = [] } = (env.frontmatter ?? {}) as { keywords?: readonly string[] };
      return keywords.length === 0 ? html : html.replace("</h1>", `</h1>${hidden(keywords.join(", "))}`);
    },
    miniSearch: { options: index, searchOptions: ranking },
  },
};
