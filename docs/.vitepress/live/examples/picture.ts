import { createClient, generateImages } from "@sluice/core";

interface RunOptions {
  readonly baseURL: string;
  readonly apiKey?: string;
  readonly signal?: AbortSignal;
  readonly write: (text: string) => void;
  readonly show: (image: { type: "image"; url: string; alt: string }) => void;
}

export async function run({ write, show, signal, ...clientOptions }: RunOptions) {
  const client = createClient(clientOptions);
  const prompt = "A lake in the mountains at sunrise, in autumn";
  const request = { model: "gamma-image-4-0-250828", prompt, size: "2048x2048" } as const;
  const { images, usage } = await generateImages(client, request, { signal });
  for (const { url } of images) if (url) show({ type: "image", url, alt: prompt });
  write(`${usage?.generated_images} image, ${images[0]?.size}`);
}

// run as a script
if (import.meta.main) {
  const { GATEWAY_URL: baseURL = "http://127.0.0.1:8788", GATEWAY_API_KEY: apiKey = "sk-test" } = process.env;
  const write = (text: string) => process.stdout.write(text);
  await run({ baseURL, apiKey, write, show: ({ url }) => write(`${url}\n`) });
}
