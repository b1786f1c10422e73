import { generateImages } from "@sluice/core";
import { calculateCost, definePrices } from "@sluice/prices";
import { listReceipts, memoryStorage, recordReceipts } from "@sluice/stores";
import { expect, test } from "vitest";
import { createTestClient, settled } from "../../packages/core/test/support/gateway.js";

test("receipts cost what the app's prices say, and an uncertain one is named", async () => {
  const image = { model: "gamma-image-5-0-260128", prompt: "A reef", size: "2048x2048" } as const;
  const { client } = createTestClient((_, nth) => {
    if (nth > 1) return Response.json({ error: { message: "no" } }, { status: nth === 2 ? 400 : 500 });
    return Response.json({ data: [{ url: "https://files.test/1.png" }], usage: { generated_images: 1 } });
  });
  const storage = memoryStorage();
  recordReceipts(client, { storage });
  for (let nth = 0; nth < 3; nth += 1)
    await generateImages(client, image, { retry: { limit: 0 } }).catch(() => {});
  await settled();
  const prices = definePrices({
    currency: "EUR",
    models: { [image.model]: { image: { [image.size]: 0.04, "4096x2304": 0.08 } } },
  });
  expect(calculateCost(await listReceipts(client, { storage }), prices)).toEqual({
    amount: 0.04,
    currency: "EUR",
    missing: [{ reason: "no-usage", model: image.model, count: 1 }],
  });
});
