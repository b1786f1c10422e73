/** @param applicationServerKey the VAPID public key; it may be public */
export async function notifyMe(applicationServerKey: string): Promise<void> {
  await navigator.serviceWorker.register("/sw.js");
  const { pushManager } = await navigator.serviceWorker.ready;
  const subscription = await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey });
  const { ok } = await fetch("/push", { method: "POST", body: JSON.stringify(subscription) });
  if (!ok) throw new Error("The server refused the subscription.");
}
