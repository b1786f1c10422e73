import { readFileSync } from "node:fs";

const manifest = JSON.parse(readFileSync(`${import.meta.dirname}/../../package.json`, "utf8")) as {
  repository?: { url: string };
};

/** Address of the repository's page; undefined until `scripts/repository.ts` has set it. */
export const repository = manifest.repository?.url.replace(/^git\+|\.git$/g, "");
