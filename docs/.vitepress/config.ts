import { dirname } from "node:path";
import { defineConfig, type MarkdownOptions } from "vitepress";
import { fileNames } from "./file-names.ts";
import { linksToRepository, unpublished } from "./links.ts";
import { repository } from "./repository.ts";
import { search } from "./search.ts";
import { nav, sidebar } from "./sidebar.ts";
import { createSlug } from "./slug.ts";

/** Colours of code take two fifths of a build's time: `--plain` leaves them out, for a test of links and anchors. */
const code: MarkdownOptions = process.argv.includes("--plain")
  ? { highlight: plainCode }
  : { theme: { light: "github-light-high-contrast", dark: "github-dark-high-contrast" } };

export default defineConfig({
  title: "Sluice",
  description: "Chat, images and video tasks from a multi-model gateway, for pages, Workers and servers.",
  lang: "en",
  // where the site is served: `/` or `/repository/`
  base: process.env["DOCS_BASE"] ?? "/",
  cleanUrls: false,
  outDir: process.env["DOCS_OUT"] ?? "dist",
  cacheDir: ".tmp",
  srcExclude: unpublished.map((folder) => `${folder}/**`),
  markdown: {
    // not `{`: a heading may end in `{id}`
    attrs: { left: "{:", rule: ["heading"] },
    anchor: { slugify: createSlug },
    ...code,
    config: (md) => void md.use(linksToRepository, dirname(import.meta.dirname)).use(fileNames),
  },
  themeConfig: {
    search,
    outline: [2, 3],
    externalLinkIcon: true,
    sidebar: sidebar(),
    nav: nav(),
    ...(repository && {
      socialLinks: [{ icon: "github", link: repository }],
      editLink: { pattern: `${repository}/edit/main/docs/:path`, text: "Edit this page" },
    }),
  },
});

function plainCode(text: string): string {
  return `<pre v-pre tabindex="0"><code>${text.replaceAll("&", "&amp;").replaceAll("<", "&lt;")}</code></pre>`;
}
