import parser from "@babel/eslint-parser";
import reactHooks from "eslint-plugin-react-hooks";

/*
 * Biome lints everything else. This is for what only React knows: the rules of hooks, and what its compiler would
 * refuse ("recommended-latest" holds all of those; "recommended" lacks one).
 */
// biome-ignore lint/style/noDefaultExport: this is how ESLint reads it
export default [
  reactRulesFor("ts", ["typescript"]),
  // in a .ts file `<T>(value: T) => value` is no element, so JSX is understood in .tsx alone
  reactRulesFor("tsx", ["typescript", "jsx"]),
];

function reactRulesFor(extension, plugins) {
  return {
    ...reactHooks.configs.flat["recommended-latest"],
    files: [
      "packages/react/src",
      "examples/studio/src",
      "examples/studio/demo",
      "labs/registry",
      "labs/devtools/src",
    ].map((folder) => `${folder}/**/*.${extension}`),
    languageOptions: {
      parser,
      parserOptions: {
        requireConfigFile: false,
        babelOptions: { babelrc: false, configFile: false, parserOpts: { plugins } },
      },
    },
    linterOptions: { reportUnusedDisableDirectives: "error" },
  };
}
