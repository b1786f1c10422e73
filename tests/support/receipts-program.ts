import { createClient, generateImages } from "@sluice/core";
import { recordReceipts } from "@sluice/stores";
import { fileStorage } from "@sluice/stores/node";

/* Generates images, four at a time, until it is killed. Arguments: URL of the gateway, file of the receipts, count. */

const [baseURL = "", file = "", count = "0"] = process.argv.slice(2);
const client = createClient({ baseURL, apiKey: "sk-0123456789", idempotencyKeys: true });
recordReceipts(client, { storage: fileStorage(file) });
let remaining = Number(count);

async function generate(): Promise<void> {
  while (remaining-- > 0)
    // a failed image has its receipt, too
    await generateImages(client, { model: "gamma-image-5-0-260128", prompt: "A reef" }).catch(() => {});
}
await Promise.all(Array.from({ length: 4 }, generate));
