import { isGatewayError } from "@sluice/core";
import { useRef, useState } from "react";
import { focusWrong } from "../room/form/focus-wrong.js";
import { PayButton } from "../room/pay-button.js";
import { RequestFailure } from "../room/request-failure.js";
import { AssetFields } from "./asset-fields.js";
import { useRegistration } from "./use-registration.js";

/** What is to be registered, and how far that is. */
export function AssetForm() {
  const registration = useRegistration();
  const { issues, submit, reset, isBusy, phase, progress, error } = registration;
  const [isTried, setTried] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  const main = useRef<HTMLButtonElement>(null);
  const leaving = () => {
    main.current?.focus();
    reset();
  };

  return (
    <form
      ref={form}
      className="order"
      aria-label="What to register"
      onSubmit={(event) => {
        event.preventDefault();
        setTried(issues.length > 0);
        if (issues.length > 0) focusWrong(form.current);
        else void submit();
      }}
    >
      <h2>Assets</h2>
      <p className="hint">An image that is registered once can be named in video requests by its address.</p>
      <AssetFields {...registration} isTried={isTried} />
      <div className="deed">
        <PayButton button={main} isDisabled={isBusy}>
          Register
        </PayButton>
        {isBusy && (
          <button type="button" aria-describedby="stop-registering" onClick={leaving}>
            Stop
          </button>
        )}
        <span role="status" className="hint">
          {phase && phaseWords[phase]}
          {progress !== undefined && ` (${Math.round(progress * 100)} %)`}
        </span>
      </div>
      {isBusy && (
        <p id="stop-registering" className="hint">
          What was sent already may stay registered, and be billed, when you stop.
        </p>
      )}
      {error && (
        <RequestFailure error={error} outcome={isGatewayError(error) ? error.outcome : undefined} isFresh>
          <button type="button" className="quiet" onClick={leaving}>
            Dismiss
          </button>
        </RequestFailure>
      )}
    </form>
  );
}

const phaseWords = {
  reading: "Reading the file",
  sending: "Being sent",
  preparing: "Being prepared",
} as const;
