import { getSharedBrowser } from "../tests/support/browser.ts";
import {
  checkDeploy,
  deploy,
  invite,
  type ManagerCommands,
  made,
  managers,
  openSecrets,
  requestDeployed,
  requestServer,
  sendInPage,
  startDev,
} from "../tests/support/first-steps.ts";
import { openWorkshop, type Started, type Workshop } from "../tests/support/new-app.ts";

/*
 * Measures a newcomer's first steps with each framework: from an empty folder to a reply, and on to a reply of the
 * production build. Follows the README of each app, with the packed packages and the newest frameworks of the registry.
 * Prints a table. A failed step ends an app, with the reason below the table.
 *
 *   node scripts/first-steps.ts              all, after a build
 *   node scripts/first-steps.ts react next   some
 */

interface App {
  readonly title: string;
  readonly template: string;
  /** Command of the framework. Absent for a new app of `create-sluice`. */
  readonly command?: readonly string[];
  /** Path of the page with the chat. */
  readonly path: string;
}

interface Row {
  readonly seconds: Record<string, number>;
  readonly stop?: string;
}

const apps: readonly App[] = [
  ...Object.keys(managers).map((template) => ({ title: template, template, path: "/" })),
  ...made.map(([name, template, command, path]) => ({ title: `${name}, --add`, template, command, path })),
];
const developmentSteps = ["create", "install", "first response"];
const productionSteps = ["build", "checklist", "response in production"];
const titles = [
  "app",
  ...developmentSteps,
  "a response after",
  ...productionSteps,
  "in production after",
  "stops",
];

const chosen = process.argv.slice(2);
const stops: string[] = [];
print(titles);
print(titles.map(() => "---"));
for (const app of apps.filter(({ title }) => chosen.length === 0 || chosen.includes(title))) {
  const { seconds, stop } = await measureApp(app);
  const sum = (...names: readonly string[]) =>
    names.every((name) => name in seconds)
      ? `${Math.round(names.reduce((sum, name) => sum + (seconds[name] ?? 0), 0))}`
      : "–";
  const sumEach = (names: readonly string[]) => names.map((name) => sum(name));
  print([
    app.title,
    ...sumEach(developmentSteps),
    sum(...developmentSteps),
    ...sumEach(productionSteps),
    sum(...developmentSteps, ...productionSteps),
    stop ? "1" : "0",
  ]);
  if (stop !== undefined) stops.push(`\n${app.title}: ${stop}`);
}
await (await getSharedBrowser()).close();
for (const stop of stops) console.log(stop);
process.exit(stops.length > 0 ? 1 : 0);

function print(cells: readonly string[]): void {
  console.log(`| ${cells.join(" | ")} |`);
}

async function measureApp(app: App): Promise<Row> {
  const shop = openWorkshop();
  const seconds: Record<string, number> = {};
  try {
    // pack before the first step: users get packed packages from the registry
    shop.pack();
    await runSteps(app, shop, async (name, step) => {
      console.error(`${app.title}: ${name}`);
      const startedAt = performance.now();
      const result = await step();
      seconds[name] = (performance.now() - startedAt) / 1000;
      return result;
    });
    return { seconds };
  } catch (error) {
    return { seconds, stop: error instanceof Error ? error.message : `${error}` };
  } finally {
    await shop.close();
  }
}

type Measure = <Result>(name: string, step: () => Promise<Result>) => Promise<Result>;

async function runSteps({ template, command, path }: App, shop: Workshop, measure: Measure): Promise<void> {
  const commands = managers[template] as ManagerCommands;
  await measure("create", () => createApp(shop, template, command));
  await measure("install", () => shop.install("app"));
  const dev = await measure("first response", () => sendFirst(shop, commands, path));
  await dev.stop();
  await measure("build", async () => commands.build && shop.run("app", commands.build));
  const deployed = await measure("checklist", () => runChecked(shop, commands));
  await measure("response in production", async () => {
    const link = await invite(shop, "app");
    return commands.hasPage ? sendInPage(link, "Hello") : requestDeployed(shop, "app", deployed.url);
  });
  await deployed.stop();
  const unprotected = await openSecrets(shop, "app");
  if (unprotected.length > 0) throw new Error(`git would commit ${unprotected.join(", ")}`);
}

async function createApp(shop: Workshop, template: string, command?: readonly string[]): Promise<void> {
  if (command) await shop.run("", command);
  const printed = command ? shop.create([".", "--add"], "app") : shop.create(["app", "--template", template]);
  if (printed.includes("TO DO")) throw new Error(printed);
}

async function sendFirst(shop: Workshop, commands: ManagerCommands, path: string): Promise<Started> {
  const server = await startDev(shop, "app", commands);
  await (commands.hasPage ? sendInPage(server.url + path, "Hello") : requestServer(shop, "app", server.url));
  return server;
}

/** Fills in the settings, starts the build, and repeats the checklist until it passes. */
async function runChecked(shop: Workshop, commands: ManagerCommands): Promise<Started> {
  const server = await deploy(shop, "app", { ...commands, build: undefined });
  const { status, printed } = await checkDeploy(shop, "app");
  if (status !== 0) throw new Error(printed);
  return server;
}
