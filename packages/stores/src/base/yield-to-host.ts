/**
 * Lets the browser handle input and render, then continues as soon as possible. `setTimeout(0)` is slower: browsers
 * delay nested timers by 4 ms, and by one second in a hidden page. `scheduler.yield` continues before timers and
 * rendering, so the page would not paint while bytes arrive.
 */
export function yieldToHost(): Promise<void> {
  return new Promise((resolve) => {
    // React Native lacks `MessageChannel`
    if (!globalThis.MessageChannel) return void setTimeout(resolve);
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(undefined);
  });
}
