#!/usr/bin/env node
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { createInterface } from "node:readline/promises";
import { parseArgs } from "node:util";
import { checkFolder, create, findTemplate, hasApp } from "./create.js";
import { formatReport } from "./report.js";
import { isTemplate, type TemplateName, templates } from "./templates.js";

const HELP = `Starts an app on the gateway. It runs on the emulator: offline, free of charge,
without a key. Its server keeps the gateway's key.

  npm create sluice [folder] -- [options]

  --template <name>  one of the templates below (default: react; for an
                     existing app, what fits its dependencies)
  --add              adds to the app in the folder: replaces no file of yours,
                     and shows each edit
  --dry-run          shows what would be written, and writes nothing
  --version          the version
  --help             this text

${Object.entries(templates)
  .map(([name, { title }]) => `  ${name.padEnd(8)} ${title}`)
  .join("\n")}
`;

const options = {
  template: { type: "string", short: "t" },
  add: { type: "boolean", default: false },
  "dry-run": { type: "boolean", default: false },
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
  if (values.version) return console.log(readVersion());
  if (positionals.length > 1) throw new Error(`one folder, please: got ${positionals.join(", ")}.`);
  const folder = resolve(positionals[0] ?? (values.add ? "." : await promptForFolder()));
  // a folder without an app gets a new app
  const add = values.add && hasApp(folder);
  checkFolder(folder, add);
  const app = { folder, template: chooseTemplate(values.template, folder, add), add };
  const isTrial = values["dry-run"];
  console.log(formatReport(app, create(app, isTrial), isTrial));
}

function chooseTemplate(requested: string | undefined, folder: string, add: boolean): TemplateName {
  const names = Object.keys(templates).join(", ");
  const name = requested ?? (add ? findTemplate(folder) : "react");
  if (name === undefined)
    throw new Error(`${folder} has no framework that this command knows. Give --template: ${names}.`);
  if (name === "studio" && add && findTemplate(folder) !== "studio")
    throw new Error("studio is a new app. Add the template react to an app that exists.");
  if (isTemplate(name)) return name;
  throw new Error(`there is no template ${name}; there are ${names}.`);
}

async function promptForFolder(): Promise<string> {
  const defaultName = "sluice-app";
  if (!process.stdin.isTTY) return defaultName;
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  const folder = await terminal.question(`Folder of the new app (${defaultName}): `);
  terminal.close();
  return folder.trim() || defaultName;
}

function readVersion(): string {
  return JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")).version;
}
