/**
 * Starts the gateway of the live examples, and returns its address.
 *
 * @throws Error where the browser has no Service Workers, or does not use this one for the page
 */
export async function startGateway(base: string): Promise<string> {
  const { serviceWorker } = navigator;
  if (!serviceWorker) throw new Error("This browser has no Service Workers here. Open the page over HTTPS.");
  const registration = await serviceWorker.register(`${base}service-worker.js`);
  if (!serviceWorker.controller) await untilControlled(serviceWorker, registration);
  return `${base}live`;
}

/** A page that was loaded past its Service Worker, by Shift and Reload, stays without it. */
async function untilControlled(
  container: ServiceWorkerContainer,
  { active }: ServiceWorkerRegistration,
): Promise<void> {
  if (active?.state === "activated")
    throw new Error("The page was loaded without its Service Worker. Reload it.");
  await new Promise((resolve) => container.addEventListener("controllerchange", resolve, { once: true }));
}
