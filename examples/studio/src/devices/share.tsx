import {
  type ConversationAccess,
  createConversationLink,
  type NewConversationLink,
  removeConversationLink,
} from "@sluice/core/remote";
import { useClient } from "@sluice/react";
import { ExternalLink } from "lucide-react";
import { useState } from "react";
import { CopyButton } from "@/components/sluice/copy-button";
import { linkWords, openWords, shareWords } from "../room-words.js";
import { isHosted } from "../server.js";
import { Button, Chip } from "../ui/button.js";
import { linkAddressOf } from "./device-client.js";
import { Panel, type PanelParts } from "./panel.js";
import { useAction } from "./use-action.js";

/** Makes a link to a chat, by which users of other names join. */
export function Share({ id }: Pick<PanelParts, "id">) {
  const client = useClient();
  const [link, setLink] = useState<NewConversationLink>();
  const { isBusy, error, run } = useAction();
  const make = (access: ConversationAccess) =>
    run(async () => setLink(await createConversationLink(client, id, { access, ms: 86_400_000 })));
  const takeBack = ({ id: linkId }: NewConversationLink) =>
    run(async () => {
      await removeConversationLink(client, id, linkId);
      setLink(undefined);
    });
  return (
    <Panel title="Share" error={error}>
      <p className="flex flex-wrap items-center gap-2">
        <Chip disabled={isBusy} onClick={() => make("read")}>
          {shareWords.read}
        </Chip>
        <Chip disabled={isBusy} onClick={() => make("write")}>
          {shareWords.write}
        </Chip>
      </p>
      <p className="text-muted">{linkWords(isHosted)}</p>
      {link && (
        <p className="flex items-center gap-1">
          <a
            href={linkAddressOf(link.token)}
            target="_blank"
            rel="noreferrer"
            className="control inline-flex min-w-0 grow items-center gap-1 text-accent underline [&_svg]:size-4 [&_svg]:shrink-0"
          >
            <span className="truncate">{openWords(link.access)}</span>
            <ExternalLink aria-hidden />
          </a>
          <CopyButton text={linkAddressOf(link.token)} />
          <Button look="quiet" disabled={isBusy} onClick={() => takeBack(link)}>
            Take back
          </Button>
        </p>
      )}
    </Panel>
  );
}
