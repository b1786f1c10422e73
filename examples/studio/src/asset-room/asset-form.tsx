import { checkAssetRequest, isGatewayError } from "@sluice/core";
import { useAsset } from "@sluice/react";
import { useRef, useState } from "react";
import { acceptedTypes } from "../images/accepted.js";
import { Field, focusWrong, issuesAt } from "../room/field.js";
import { PayButton } from "../room/pay-button.js";
import { RequestFailure } from "../room/request-failure.js";
import { type Source, Sources } from "../room/sources.js";
import { useDraft } from "../room/use-draft.js";
import { note } from "./registered.js";

interface AssetDraft {
  readonly sources: readonly Source[];
  readonly name: string;
  readonly groupId: string;
}

const empty: AssetDraft = { sources: [], name: "", groupId: "studio" };

/** What is to be registered. */
export function AssetForm() {
  const [draft, setDraft] = useDraft("asset", empty);
  const [isTried, setTried] = useState(false);
  const { register, reset, status, phase, progress, error } = useAsset();
  const form = useRef<HTMLFormElement>(null);
  const main = useRef<HTMLButtonElement>(null);
  const isBusy = status === "pending";
  const set = (change: Partial<AssetDraft>) => setDraft((known) => ({ ...known, ...change }));
  const request = requestOf(draft);
  const { issues } = checkAssetRequest(request);
  const leaving = () => {
    main.current?.focus();
    reset();
  };

  const submit = async () => {
    setTried(issues.length > 0);
    if (issues.length > 0) return focusWrong(form.current);
    const [source] = draft.sources;
    const { Name: name, GroupId: groupId } = request;
    if (!source || isBusy) return;
    const { handle } = await register(source.file ?? source.url, { name, groupId });
    if (!handle) return;
    // the list has it from here on; the form is free for the next
    note(handle, name, groupId);
    reset();
    setDraft(({ groupId: kept }) => ({ ...empty, groupId: kept }));
  };

  return (
    <form
      ref={form}
      className="order"
      aria-label="What to register"
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <h2>Assets</h2>
      <p className="hint">An image that is registered once can be named in video requests by its address.</p>
      <Sources
        name="Image"
        sources={draft.sources}
        most={1}
        accept={acceptedTypes.join()}
        issues={isTried || draft.sources.length > 0 ? issuesAt(issues, "URL") : []}
        onChange={(change) => setDraft((known) => ({ ...known, sources: change(known.sources) }))}
      />
      <Field name="Name" hint="Empty: the name of the file or of the link.">
        {(control) => (
          <input
            {...control}
            type="text"
            autoComplete="off"
            value={draft.name}
            onChange={(event) => set({ name: event.target.value })}
          />
        )}
      </Field>
      <Field name="Group" issues={issuesAt(issues, "GroupId")}>
        {(control) => (
          <input
            {...control}
            type="text"
            autoComplete="off"
            value={draft.groupId}
            onChange={(event) => set({ groupId: event.target.value })}
          />
        )}
      </Field>
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

function requestOf({ sources: [source], name, groupId }: AssetDraft) {
  return {
    model: "gamma-asset",
    GroupId: groupId.trim(),
    // a link without a last part is called by all of it
    Name:
      name.trim() ||
      (source?.file?.name ??
        source?.url
          .replace(/[?#].*/, "")
          .split("/")
          .at(-1)) ||
      "image",
    AssetType: "Image",
    URL: source?.url ?? "",
  } as const;
}
