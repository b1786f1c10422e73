/* The words of `Markdown`. It has a prop `words` for them; an app in another language changes them here. */

/** Words of what an answer shows: code, formulas and pictures. */
export const markdownWords = {
  /** Name of a block of code in a language. */
  code: (language: string) => `Code: ${language}`,
  /** Language of a block that names none. */
  noLanguage: "text",
  wrap: "Wrap lines",
  download: "Download",
  copy: "Copy code",
  copied: "Copied",
  /** Name of the place of a formula that is still loading. */
  formula: "Formula",
  /** Button that loads a picture of another server; undefined where the address names none. */
  showImage: (host: string | undefined) => (host ? `Show image from ${host}` : "Show image"),
};
