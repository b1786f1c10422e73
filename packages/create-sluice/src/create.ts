import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { checkIgnored } from "./ignored.js";
import type { Manifest } from "./manifest.js";
import { type Change, type Plan, planOf, type Wanted } from "./plan.js";
import type { TemplateName } from "./templates.js";

/**
 * Creates an app of a template, or adds to an app. `isTrial` leaves the folder as it is.
 *
 * @throws Error if git would commit a secret.
 */
export function create(wanted: Wanted, isTrial: boolean): Plan {
  const plan = planOf(wanted);
  if (!isTrial) apply(wanted.folder, plan);
  return plan;
}

/** @throws Error if a folder has files and is to get a new app, or if it is the root of a workspace. */
export function checkFolder(folder: string, add: boolean): void {
  if (!add && hasFiles(folder))
    throw new Error(`${folder} is not empty. Choose another folder, or add to the app in it with --add.`);
  if (add && isWorkspaceRoot(folder))
    throw new Error(
      `${folder} is the root of a workspace. Name the folder of one of its apps, or of a new one.`,
    );
}

/** Checks if a folder has an app to which `--add` can add. */
export function hasApp(folder: string): boolean {
  return existsSync(join(folder, "package.json"));
}

function hasFiles(folder: string): boolean {
  return existsSync(folder) && readdirSync(folder).some((name) => name !== ".git");
}

/** Returns the template that an app is made of, by its dependencies; undefined where they say nothing. */
export function templateIn(folder: string): TemplateName | undefined {
  const { dependencies, devDependencies } = manifestOf(folder);
  const has = { ...dependencies, ...devDependencies };
  if ("next" in has) return "next";
  if ("@tanstack/react-start" in has) return "start";
  if ("vite" in has && "react" in has) return isStudio(folder) ? "studio" : "react";
  if ("wrangler" in has) return "worker";
  if ("@types/deno" in has) return "deno";
  return "@sluice/worker-proxy" in has ? "node" : undefined;
}

/** True for an app of the template `studio`. */
function isStudio(folder: string): boolean {
  return existsSync(join(folder, "src/rooms/rooms.tsx"));
}

function isWorkspaceRoot(folder: string): boolean {
  const list = existsSync(join(folder, "pnpm-workspace.yaml"))
    ? readFileSync(join(folder, "pnpm-workspace.yaml"), "utf8")
    : "";
  return manifestOf(folder).workspaces !== undefined || /^packages:/m.test(list);
}

function manifestOf(folder: string): Manifest {
  const path = join(folder, "package.json");
  return existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : {};
}

/** Writes what is planned. The `.gitignore` comes first, so that no secret is ever there without it. */
function apply(folder: string, { changes }: Plan): void {
  mkdirSync(folder, { recursive: true });
  const isIgnore = ({ path }: Change) => path === ".gitignore";
  for (const change of changes.filter(isIgnore)) write(folder, change);
  checkIgnored(folder);
  for (const change of changes.filter((each) => !isIgnore(each))) write(folder, change);
}

function write(folder: string, { path, after }: Change): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), after);
}
