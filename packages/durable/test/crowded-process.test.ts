import { idempotency } from "@sluice/durable";
import { expect, test } from "vitest";
import { openGateway, openStoredProxy, silenceLog, usage } from "./support/stored-proxy.js";

test("a user with thousands of waiting requests does not block other users", async () => {
  silenceLog();
  const gateway = openGateway();
  gateway.hangs();
  const { create, host } = openStoredProxy({ gateway, plugins: [idempotency()] });
  let refused = 0;
  for (let sent = 0; sent < 5_200 && refused === 0; sent += 200) {
    const opened = host.opened + 200;
    for (let nth = 0; nth < 200; nth += 1)
      void create("one").then(
        ({ status }) => {
          if (status === 503) refused += 1;
        },
        () => {},
      );
    await expect.poll(() => host.opened >= opened || refused > 0, { timeout: 10_000 }).toBe(true);
  }
  expect(refused).toBeGreaterThan(0);
  gateway.responds(() => Response.json({ data: [{ url: "https://cdn.example/1.png" }], usage }));
  const response = await create("two", { headers: { authorization: "Bearer other" } });
  expect(response.status).toBe(200);
});
