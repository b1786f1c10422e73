/**
 * The least that reading a stream costs: read, decode, find the blank line, parse, one callback for each frame. It
 * knows one form of stream only, and nothing of errors, ends or time.
 */
export async function floor(response: Response, onChunk: (chunk: unknown) => void): Promise<void> {
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  const decoder = new TextDecoder();
  let rest = "";
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    const seen = Math.max(0, rest.length - 1);
    rest += decoder.decode(read.value, { stream: true });
    let start = 0;
    for (let end = rest.indexOf("\n\n", seen); end !== -1; end = rest.indexOf("\n\n", start)) {
      const data = rest.slice(start + 6, end);
      start = end + 2;
      if (data !== "[DONE]") onChunk(JSON.parse(data));
    }
    if (start > 0) rest = rest.slice(start);
  }
}
