/** Opens the count of what is under way in an object. */
export function openUses() {
  let count = 0;
  let idleSince = Date.now();
  let onIdle: (() => void) | undefined;
  /** Each cuts an event stream that is open. */
  const cuts = new Set<() => void>();
  return { idleMs, during, duringBody, ended, cut };

  function idleMs(): number {
    return count > 0 ? 0 : Date.now() - idleSince;
  }

  async function during<T>(work: () => Promise<T>): Promise<T> {
    const end = begin();
    try {
      return await work();
    } finally {
      end();
    }
  }

  /**
   * Counts an event stream until it has ended or is cancelled; any other body is read by whoever asked, at once.
   *
   * @param kept resolves when all that was written until now is kept: each piece waits for that
   */
  function duringBody(
    response: Response,
    { kept, onCancel }: { readonly kept: () => Promise<void>; readonly onCancel: () => void },
  ): Response {
    if (!response.headers.get("content-type")?.startsWith("text/event-stream")) return response;
    const reader = response.body?.getReader();
    if (!reader) return response;
    const endUse = begin();
    let cutThis = () => {};
    const end = () => {
      cuts.delete(cutThis);
      endUse();
    };
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        cutThis = () => {
          end();
          onCancel();
          reader.cancel().catch(() => {});
          controller.error(new Error("the object of this stream was given up"));
        };
        cuts.add(cutThis);
      },
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          await kept();
          if (!cuts.has(cutThis)) return;
          if (!done) return controller.enqueue(value);
          controller.close();
        } catch (error) {
          controller.error(error);
          onCancel();
          reader.cancel().catch(() => {});
        }
        end();
      },
      async cancel(reason) {
        end();
        onCancel();
        await reader.cancel(reason);
      },
    });
    return new Response(body, response);
  }

  /** Cuts all event streams: their clients ask again. */
  function cut(): void {
    for (const cutOne of [...cuts]) cutOne();
  }

  /** Resolves when nothing is under way, or when the time is over. */
  async function ended(withinMs: number): Promise<void> {
    if (count === 0 || withinMs <= 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, withinMs);
      onIdle = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    onIdle = undefined;
  }

  function begin(): () => void {
    let isOver = false;
    count += 1;
    return () => {
      if (isOver) return;
      isOver = true;
      count -= 1;
      if (count > 0) return;
      idleSince = Date.now();
      onIdle?.();
    };
  }
}
