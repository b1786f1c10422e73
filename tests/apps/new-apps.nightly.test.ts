import { spawnSync } from "node:child_process";
import { createChatStore } from "@sluice/stores";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { findChromium } from "../../scripts/chromium.ts";
import {
  checkDeploy,
  deploy,
  invite,
  managers,
  openSecrets,
  requestDeployed,
  requestServer,
  sendInPage,
  startDev,
  visit,
} from "../support/first-steps.ts";
import { openWorkshop, type Workshop } from "../support/new-app.ts";
import { createUserClient, startScenario } from "../support/server-template.ts";

/* Each template as a newcomer meets it: created, installed from the packed packages, run, built, and run as in production. */

const hasRegistry = spawnSync("npm", ["view", "react", "version"], { timeout: 20_000 }).status === 0;

describe.each(Object.entries(managers))("a new app of %s", (template, commands) => {
  const app = `my-${template}`;
  let shop: Workshop;

  beforeAll(async () => {
    if (!hasRegistry) return;
    shop = openWorkshop();
    shop.create([app, "--template", template]);
    await shop.install(app);
  }, 600_000);
  afterAll(() => shop?.close());
  beforeEach(({ skip }) => {
    skip(!hasRegistry, "the npm registry can't be reached");
    skip(commands.hasPage && !findChromium(), "there is no Chromium");
  });

  test("The app has no type errors, and responds at once in development", { timeout: 600_000 }, async () => {
    await shop.run(app, ["npm", "run", "types"]);
    const server = await startDev(shop, app, commands);
    const reply = commands.hasPage
      ? await sendInPage(server.url, "Hello")
      : await requestServer(shop, app, server.url);
    expect(reply.length).toBeGreaterThan(10);
    if (!commands.hasPage) expect(reply).toContain("complete");
    await server.stop();
  });

  test("The checklist names what production lacks, and accepts the deployed app", {
    timeout: 600_000,
  }, async () => {
    const empty = await checkDeploy(shop, app);
    expect(empty.status).toBe(1);
    expect(empty.printed).toContain("TODO gateway: GATEWAY_URL is empty.");
    const server = await deploy(shop, app, commands);
    expect(await checkDeploy(shop, app)).toMatchObject({
      status: 0,
      printed: expect.stringContaining("All is set."),
    });
    const link = await invite(shop, app);
    expect(link).toContain(`${server.url}/#invite=`);
    if (commands.hasPage) {
      expect(await visit(server.url)).toContain("This app is by invitation.");
      expect((await sendInPage(link, "Hello")).length).toBeGreaterThan(10);
    } else expect(await requestDeployed(shop, app, server.url)).toContain("complete");
    await server.stop();
    expect(await checkDeploy(shop, app)).toMatchObject({
      status: 1,
      printed: expect.stringContaining("Deploy the app"),
    });
    expect(await openSecrets(shop, app)).toEqual([]);
  });

  test.runIf(template === "node")(
    "A response that is cut by a kill is stored, and paid once; a second start is refused",
    {
      timeout: 600_000,
    },
    async () => {
      const scenario = await startScenario();
      onTestFinished(scenario.close);
      const start = () => shop.start(app, ["npm", "start"], scenario.env);
      let running = start();
      await running;
      const { client } = await createUserClient("ada", async () => (await running).url, app);
      const chat = createChatStore(client, { model: "delta-5.3" });
      const turn = chat.send("Hello [[stall]]");
      const { messages: begun } = await new Promise<ReturnType<typeof chat.getSnapshot>>(
        (resolve, reject) => {
          const look = () => {
            const now = chat.getSnapshot();
            if (now.error) reject(now.error);
            else if (now.messages[1]?.content) resolve(now);
          };
          chat.subscribe(look);
        },
      );
      const shown = begun[1]?.content;
      expect(await shop.attempt(app, ["npm", "start"], scenario.env)).toMatchObject({
        status: 1,
        printed: expect.stringContaining(
          "The server can't start: nodeHost: another process has data/sluice.db",
        ),
      });
      // a kill -9 of all that `npm start` has started
      running = (await running).stop().then(start);
      const { messages, error } = await turn;
      expect(messages[1]).toMatchObject({
        content: expect.stringContaining(`${shown}`),
        outcome: "truncated",
      });
      expect(error?.message).toContain("the rest of this response is lost; send the request again");
      expect(scenario.emulator.requests.filter(({ method }) => method === "POST")).toHaveLength(1);
      expect(await chat.send("And now?")).toMatchObject({ outcome: "complete" });
      await (await running).stop();
    },
  );
});
