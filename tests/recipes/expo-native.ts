type Listener = (value?: unknown) => void;
type Gateway = (request: Request) => Promise<Response>;

/** The native part of Expo's `fetch`: a response that calls its listeners with each piece. */
export class NativeResponse {
  private readonly listeners = new Map<string, Listener>();
  response: Response | undefined;

  addListener(name: string, listener: Listener): void {
    this.listeners.set(name, listener);
  }
  removeListener(name: string): void {
    this.listeners.delete(name);
  }
  removeAllListeners(name: string): void {
    this.listeners.delete(name);
  }
  private tell(name: string, value?: unknown): void {
    this.listeners.get(name)?.(value);
  }
  get _rawHeaders(): [string, string][] {
    return [...(this.response?.headers ?? [])];
  }
  get status(): number {
    return this.response?.status ?? 0;
  }
  get statusText(): string {
    return this.response?.statusText ?? "";
  }
  get url(): string {
    return this.response?.url ?? "";
  }
  get redirected(): boolean {
    return false;
  }
  async startStreaming(): Promise<null> {
    void this.pump();
    return null;
  }
  private async pump(): Promise<void> {
    try {
      for await (const piece of this.response?.body ?? []) this.tell("didReceiveResponseData", piece);
      this.tell("didComplete");
    } catch (error) {
      this.tell("didFailWithError", String(error));
    }
  }
  cancelStreaming(): void {}
  async text(): Promise<string> {
    return (await this.response?.text()) ?? "";
  }
  async arrayBuffer(): Promise<ArrayBuffer> {
    return (await this.response?.arrayBuffer()) ?? new ArrayBuffer(0);
  }
}

/** A request to the handler that the test calls `gateway`. */
export class NativeRequest {
  private readonly gone = new AbortController();
  private readonly response: NativeResponse;

  constructor(response: NativeResponse) {
    this.response = response;
  }

  async start(url: string, init: RequestInit, body: Uint8Array<ArrayBuffer> | null): Promise<void> {
    const { method = "GET", headers } = init;
    const request = new Request(url, {
      method,
      body,
      ...(headers && { headers }),
      signal: this.gone.signal,
    });
    this.response.response = await (globalThis as unknown as { gateway: Gateway }).gateway(request);
  }
  cancel(): void {
    this.gone.abort();
  }
}
