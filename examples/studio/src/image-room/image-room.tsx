import type { ImageModel } from "@sluice/core";
import { useImages } from "@sluice/react";
import { useEffect, useRef } from "react";
import { Masthead } from "../masthead.js";
import { PayButton } from "../room/pay-button.js";
import { RequestFailure } from "../room/request-failure.js";
import { useDraft } from "../room/use-draft.js";
import { duration, useNow } from "../room/use-now.js";
import { hang } from "./gallery.js";
import { emptyOrder, requestOf } from "./order.js";
import { OrderForm } from "./order-form.js";
import { SheetList } from "./sheet-list.js";
import "../chat/model-picker.css";
import "../room/room.css";

/** Where images are made. A request goes on while one is in another room. */
export function ImageRoom() {
  const [order, setOrder] = useDraft("images", emptyOrder);
  const { generate, stop, reset, status, error, outcome, submittedAt } = useImages<ImageModel>({
    id: "studio",
    model: order.model,
    onSuccess: (data, settled) => hang(data, settled.variables.prompt),
  });
  const isPending = status === "pending";
  const isBlank = order.prompt.trim() === "";
  useEffect(() => {
    if (!isPending) return;
    // the browser asks whether to leave: nothing brings the answer back
    const ask = (event: Event) => event.preventDefault();
    addEventListener("beforeunload", ask);
    return () => removeEventListener("beforeunload", ask);
  }, [isPending]);
  const main = useRef<HTMLButtonElement>(null);
  /** Before the button that was pressed goes, the focus moves to the one that stays. */
  const leaving = (act: () => void) => () => {
    main.current?.focus();
    act();
  };
  const submit = () => {
    if (!isBlank) void generate(requestOf(order));
  };

  return (
    <div className="workroom">
      <Masthead />
      <main>
        <OrderForm order={order} onChange={setOrder} onSubmit={submit}>
          <div className="deed">
            <PayButton button={main} isDisabled={isPending || isBlank}>
              Generate
            </PayButton>
            {isPending && (
              <button type="button" aria-describedby="stop-cost" onClick={leaving(stop)}>
                Stop
              </button>
            )}
          </div>
          {isPending && (
            <p id="stop-cost" className="hint">
              Stop ends the waiting; what the gateway has begun may be billed all the same.
            </p>
          )}
        </OrderForm>
        <section className="made" aria-label="Gallery">
          <div role="status">
            <span className="unseen">{isPending ? "Generating" : status === "success" && "Done"}</span>
          </div>
          {isPending && <Waiting since={submittedAt} />}
          {error && (
            <RequestFailure error={error} outcome={outcome} isFresh>
              <button type="button" onClick={leaving(submit)}>
                {outcome === "unknown" ? "Ask again all the same" : "Try again"}
              </button>
              <button type="button" className="quiet" onClick={leaving(reset)}>
                Dismiss
              </button>
            </RequestFailure>
          )}
          <SheetList />
        </section>
      </main>
    </div>
  );
}

function Waiting({ since }: { since: number | undefined }) {
  const now = useNow();
  return (
    <p className="waiting">
      Generating for {duration(now - (since ?? now))}. An image may take minutes, a sequence several times
      that.
    </p>
  );
}
