import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { checkIgnored } from "./ignored.js";
import type { Manifest } from "./manifest.js";
import { type AppOptions, type Change, createPlan, type Plan } from "./plan.js";
import type { TemplateName } from "./templates.js";

/**
 * Creates an app from a template, or adds to an app. With `isTrial`, nothing is written.
 *
 * @throws Error if git would commit a secret.
 */
export function create(app: AppOptions, isTrial: boolean): Plan {
  const plan = createPlan(app);
  if (!isTrial) apply(app.folder, plan);
  return plan;
}

/** @throws Error if a new app would go into a folder with files, or the folder is the root of a workspace. */
export function checkFolder(folder: string, add: boolean): void {
  if (!add && hasFiles(folder))
    throw new Error(`${folder} is not empty. Choose another folder, or add to the app in it with --add.`);
  if (add && isWorkspaceRoot(folder))
    throw new Error(
      `${folder} is the root of a workspace. Name the folder of one of its apps, or of a new one.`,
    );
}

/** Checks if a folder contains an app to which `--add` can add. */
export function hasApp(folder: string): boolean {
  return existsSync(join(folder, "package.json"));
}

function hasFiles(folder: string): boolean {
  return existsSync(folder) && readdirSync(folder).some((name) => name !== ".git");
}

/** Finds the template that fits the app's dependencies. */
export function findTemplate(folder: string): TemplateName | undefined {
  const { dependencies, devDependencies } = readManifest(folder);
  const installed = { ...dependencies, ...devDependencies };
  if ("next" in installed) return "next";
  if ("@tanstack/react-start" in installed) return "start";
  if ("vite" in installed && "react" in installed) return isStudio(folder) ? "studio" : "react";
  if ("wrangler" in installed) return "worker";
  if ("@types/deno" in installed) return "deno";
  return "@sluice/worker-proxy" in installed ? "node" : undefined;
}

/** Checks for an app of the template `studio`. */
function isStudio(folder: string): boolean {
  return existsSync(join(folder, "src/rooms/rooms.tsx"));
}

function isWorkspaceRoot(folder: string): boolean {
  const path = join(folder, "pnpm-workspace.yaml");
  const settings = existsSync(path) ? readFileSync(path, "utf8") : "";
  return readManifest(folder).workspaces !== undefined || /^packages:/m.test(settings);
}

function readManifest(folder: string): Manifest {
  const path = join(folder, "package.json");
  return existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : {};
}

/** Writes the changes. Writes the `.gitignore` first, so that secrets are always ignored. */
function apply(folder: string, { changes }: Plan): void {
  mkdirSync(folder, { recursive: true });
  const isGitignore = ({ path }: Change) => path === ".gitignore";
  for (const change of changes.filter(isGitignore)) write(folder, change);
  checkIgnored(folder);
  for (const change of changes.filter((other) => !isGitignore(other))) write(folder, change);
}

function write(folder: string, { path, after }: Change): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), after);
}
