import { type EndHandler, videoWatch } from "@sluice/durable";
import { expect, onTestFinished, test } from "vitest";
import { openGateway, openStoredProxy, silenceLog } from "./support/stored-proxy.js";

test("slow handlers do not delay the polls of other tasks", async () => {
  silenceLog();
  let created = 0;
  const gateway = openGateway((request) => {
    if (request.method === "GET")
      return Response.json({ id: "t", status: "succeeded", url: "https://cdn.example/1.mp4" });
    created += 1;
    return Response.json({ id: `t-${created}`, status: "queued" });
  });
  let handled = 0;
  const ends: (() => void)[] = [];
  onTestFinished(() => {
    for (const end of ends) end();
  });
  const hang: EndHandler = () => {
    handled += 1;
    return new Promise<void>((resolve) => ends.push(resolve));
  };
  const plugins = [videoWatch({ intervalMs: 2000, onEnd: [hang] })];
  const { create } = openStoredProxy({ gateway, plugins });
  const body = { model: "beta3.0-video", input: { prompt: "a bird" } };
  const start = (user: string) =>
    create(undefined, {
      path: "/v1/video/generations",
      body,
      headers: { authorization: `Bearer ${user}` },
    });
  for (let nth = 0; nth < 64; nth += 1) await (await start(`user-${nth % 8}`)).text();
  await expect.poll(() => handled, { timeout: 20_000 }).toBe(64);
  await (await start("other")).text();
  const polled = () => gateway.requests.some(({ url }) => url.endsWith("/t-65"));
  await expect.poll(polled, { timeout: 8000 }).toBe(true);
});
