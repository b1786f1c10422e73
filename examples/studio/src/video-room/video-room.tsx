import { isGatewayError, type VideoRequest } from "@sluice/core";
import { useVideoTask } from "@sluice/react";
import { useRef } from "react";
import { PayButton } from "../room/pay-button.js";
import { RequestFailure } from "../room/request-failure.js";
import { useDraft } from "../room/use-draft.js";
import { useLeaveWarning } from "../room/use-leave-warning.js";
import { Workroom } from "../room/workroom.js";
import { storage } from "../stored.js";
import { emptyOrder, requestOf } from "./order.js";
import { OrderForm } from "./order-form.js";
import { TaskList } from "./task-list.js";

/** Where videos are made: each one is a task that goes on at the gateway, whatever happens to this page. */
export function VideoRoom() {
  const [order, setOrder] = useDraft("video", emptyOrder);
  const { create, reset, isCreating, error } = useVideoTask({ storage, checkMedia });
  // it would be found again, as unconfirmed: billed, perhaps, and its video lost
  useLeaveWarning(isCreating);
  const main = useRef<HTMLButtonElement>(null);
  const film = async () => {
    const { handle } = await create(requestOf(order), { label: order.prompt.trim() || order.model });
    // the list has it from here on; the form is free for the next
    if (handle) reset();
  };
  const outcome = isGatewayError(error) ? error.outcome : undefined;

  return (
    <Workroom>
      <OrderForm order={order} onChange={setOrder} onSubmit={() => void film()}>
        <div className="deed">
          <PayButton button={main} isDisabled={isCreating}>
            Generate
          </PayButton>
          <span role="status" className="hint">
            {isCreating && "Being sent"}
          </span>
        </div>
        {error && (
          <RequestFailure error={error} outcome={outcome} isFresh>
            <button
              type="button"
              className="quiet"
              onClick={() => {
                main.current?.focus();
                reset();
              }}
            >
              Dismiss
            </button>
          </RequestFailure>
        )}
      </OrderForm>
      <TaskList />
    </Workroom>
  );
}

/** The files in a request, whole: what reads them is loaded when there is something to read. */
async function checkMedia(request: VideoRequest, options: { readonly signal: AbortSignal }) {
  const { checkVideoMedia } = await import("@sluice/core/media");
  return checkVideoMedia(request, options);
}
