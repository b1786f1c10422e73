import { createBatch } from "@sluice/batch";
import { createClient } from "@sluice/core";
import { fileStorage } from "@sluice/stores/node";

/*
 * Makes an image for each argument, four at a time, and prints their URLs. You can kill the script at any time: started
 * again with the same arguments, it continues, and pays for no image twice.
 */

const client = createClient({
  baseURL: process.env["GATEWAY_URL"] ?? "http://127.0.0.1:8788",
  apiKey: process.env["GATEWAY_API_KEY"] ?? "sk-test",
});
const prompts = process.argv.slice(2);
if (prompts.length === 0) {
  console.error('Name the images: node batch.ts "A reef at dawn" "A reef at noon"');
  process.exit(2);
}
const batch = createBatch(
  client,
  prompts.map((prompt) => ({ id: prompt, image: { model: "gamma-image-5-0-260128", prompt } })),
  { id: "images", storage: fileStorage("images.jsonl") },
);
process.once("SIGINT", batch.stop);

const { error } = await batch.run();
for (const { id, state, result, error } of batch.getItems()) {
  const urls = result && "images" in result ? result.images.map(({ url }) => url) : [];
  console.log(`${id}: ${state}`, error?.message ?? urls.join(" "));
}
if (error) throw error;
