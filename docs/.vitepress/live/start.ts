import { startServiceWorker } from "../../../examples/studio/demo/hosted/start-service-worker.ts";

/**
 * Starts the gateway of the live examples, and returns its address.
 *
 * @throws Error if the browser does not support Service Workers, or can't run this Service Worker
 */
export async function startGateway(base: string): Promise<string> {
  if (!navigator.serviceWorker)
    throw new Error("This browser has no Service Workers here. Open the page over HTTPS.");
  await startServiceWorker(`${base}service-worker.js`);
  return `${base}live`;
}
