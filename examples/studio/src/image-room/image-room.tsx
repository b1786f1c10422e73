import type { ImageModel } from "@sluice/core/schemas";
import { useImages } from "@sluice/react";
import { useRef } from "react";
import { PayButton } from "../room/pay-button.js";
import { RequestFailure } from "../room/request-failure.js";
import { useDraft } from "../room/use-draft.js";
import { useLeaveWarning } from "../room/use-leave-warning.js";
import { duration, useNow } from "../room/use-now.js";
import { Workroom } from "../room/workroom.js";
import { hang } from "./gallery.js";
import { emptyOrder, requestOf } from "./order.js";
import { OrderForm } from "./order-form.js";
import { SheetList } from "./sheet-list.js";

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
  // nothing brings the answer back
  useLeaveWarning(isPending);
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
    <Workroom>
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
    </Workroom>
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
