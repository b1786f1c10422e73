import { describeError, useClient, useImages } from "@sluice/react";
import { type SubmitEvent, useState } from "react";

const model = "gamma-image-5-0-260128";

/** A request for an image. It is stored before it is sent, because it may be billed. */
interface Order {
  readonly id: string;
  readonly prompt: string;
  /** Links of the images. Undefined before the response. */
  readonly urls?: readonly string[];
}

function readOrders(key: string): readonly Order[] {
  try {
    return JSON.parse(localStorage.getItem(key) ?? "[]");
  } catch {
    return [];
  }
}

/** Stores an order, in place of an earlier one with the same id. */
function storeOrder(key: string, order: Order): readonly Order[] {
  const orders = [order, ...readOrders(key).filter(({ id }) => id !== order.id)];
  localStorage.setItem(key, JSON.stringify(orders));
  return orders;
}

/** The room where images are made. */
export function Images() {
  const { generate, stop, status, error } = useImages({ id: "images", model });
  // each user of this browser has a separate list
  const key = `sluice-images/${useClient().user}`;
  const [orders, setOrders] = useState(() => readOrders(key));
  const isBusy = status === "pending";

  async function submit(event: SubmitEvent<HTMLFormElement>) {
    event.preventDefault();
    if (isBusy) return;
    const prompt = String(new FormData(event.currentTarget).get("prompt"));
    const order = { id: crypto.randomUUID(), prompt };
    setOrders(storeOrder(key, order));
    const { data } = await generate({ model, prompt, size: "2048x2048" });
    if (data) setOrders(storeOrder(key, { ...order, urls: data.images.flatMap(({ url }) => url ?? []) }));
  }

  return (
    <main>
      <form onSubmit={submit}>
        <input name="prompt" aria-label="Describe an image" placeholder="Describe an image" required />
        <button type="submit" disabled={isBusy}>
          {isBusy ? "Generating …" : "Generate"}
        </button>
        {isBusy && (
          <button type="button" onClick={stop}>
            Stop
          </button>
        )}
      </form>
      {error && (
        <p role="alert">
          <strong>{describeError(error).title}</strong> {describeError(error).hint}
        </p>
      )}
      <ol aria-label="Images">
        {orders.map(({ id, prompt, urls }, at) => (
          <li key={id}>
            {urls?.map((url) => (
              <img key={url} src={url} alt={prompt} />
            ))}
            <p dir="auto">{prompt}</p>
            {!urls && !(isBusy && at === 0) && <p>No image came back. You may have been charged.</p>}
          </li>
        ))}
      </ol>
    </main>
  );
}
