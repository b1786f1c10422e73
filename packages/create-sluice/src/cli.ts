#!/usr/bin/env node
import { readFileSync } from "node:fs";
import { relative, resolve } from "node:path";
import { createInterface } from "node:readline/promises";
import { parseArgs } from "node:util";
import { create } from "./create.js";
import { isTemplate, type TemplateName, templates } from "./templates.js";

const HELP = `Starts an app on the gateway. It runs on the emulator: offline, free of charge, without a key.

  npm create sluice [folder] -- [options]

  --template <name>  ${Object.entries(templates)
    .map(([name, { title }]) => `${name.padEnd(7)} ${title}`)
    .join("\n                     ")}
                     (react)
  --add              add to the app in the folder: no file is overwritten
  --version          print the version
  --help             this text
`;

const options = {
  template: { type: "string", short: "t", default: "react" },
  add: { type: "boolean", default: false },
  version: { type: "boolean", short: "v", default: false },
  help: { type: "boolean", short: "h", default: false },
} as const;

try {
  await run();
} catch (error) {
  console.error(`${error instanceof Error ? error.message : error}\nSee npm create sluice -- --help.`);
  process.exitCode = 1;
}

async function run() {
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
  if (values.help) return console.log(HELP);
  if (values.version) return console.log(version());
  if (positionals.length > 1) throw new Error(`one folder, please: got ${positionals.join(", ")}.`);
  const template = templateOf(values.template);
  const folder = resolve(positionals[0] ?? (values.add ? "." : await askForFolder()));
  const { written, kept } = create({ folder, template, add: values.add });
  console.log(report(folder, template, values.add, written, kept));
}

function templateOf(name: string): TemplateName {
  if (isTemplate(name)) return name;
  throw new Error(`there is no template ${name}; there are ${Object.keys(templates).join(", ")}.`);
}

async function askForFolder(): Promise<string> {
  const usual = "sluice-app";
  if (!process.stdin.isTTY) return usual;
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  const folder = await terminal.question(`Folder of the new app (${usual}): `);
  terminal.close();
  return folder.trim() || usual;
}

function report(
  folder: string,
  template: TemplateName,
  add: boolean,
  written: readonly string[],
  kept: readonly string[],
): string {
  const shown = relative(process.cwd(), folder) || ".";
  const listed = (files: readonly string[]) => files.map((file) => `  ${file}\n`).join("");
  const before = shown === "." ? "" : `    cd ${shown}\n`;
  return [
    `${add ? "Added to" : "Created"} ${shown}: ${templates[template].title}.\n\n${listed(written)}`,
    ...(kept.length > 0 ? [`Left as they are:\n\n${listed(kept)}`] : []),
    `Install it:\n\n${before}    npm install\n\n${templates[template].steps}`.replaceAll(
      /^( {4}(?:cd .*\n {4})?)npm (?=install|run)/gm,
      `$1${packageManager()} `,
    ),
    "",
  ].join("\n");
}

/** Returns the package manager that started this command. */
function packageManager(): string {
  const [, name = "npm"] = /^(\w+)\//.exec(process.env["npm_config_user_agent"] ?? "") ?? [];
  return name;
}

function version(): string {
  return JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")).version;
}
