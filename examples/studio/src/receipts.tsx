import { subscribeToEvents } from "@sluice/core";
import { calculateCost } from "@sluice/prices";
import { formatReceiptsCSV, listReceipts, type Receipt } from "@sluice/react";
import { Download } from "lucide-react";
import { useEffect, useState } from "react";
import { Badge, Button } from "@/components/sluice/button";
import { formatCost } from "@/components/sluice/cost";
import { saveFile } from "@/components/sluice/download";
import { formatModel } from "@/components/sluice/format";
import { client, storage } from "./client.js";
import { prices } from "./prices.js";
import { formatRoute } from "./rooms.js";
import { markedMessage } from "./state.js";

const kinds: Partial<Record<Receipt["kind"], string>> = { chat: "Chat", image: "Image", video: "Video" };

const billings = {
  none: { text: "Not sent", tone: "neutral" },
  refused: { text: "Refused, free", tone: "neutral" },
  maybe: { text: "May be charged", tone: "warn" },
  yes: { text: "Charged", tone: "success" },
} as const;

/** Lists each request of this browser with its outcome and cost. The list survives a reload. */
export function Receipts() {
  const receipts = useReceipts();
  const uncertain = receipts.filter(({ billing }) => billing === "maybe").length;
  if (receipts.length === 0) return <p className="p-3 text-sm">No requests yet</p>;
  return (
    <section aria-label="Receipts" className="flex min-h-0 grow flex-col">
      <div className="flex items-center gap-2 border-b px-3 py-2">
        <p className="grow text-sm tabular-nums">
          <bdi>{writeCost(receipts)}</bdi>
          {uncertain > 0 && <span className="text-warning"> · {uncertain} may be charged</span>}
        </p>
        <Button onClick={() => saveFile(new File([formatReceiptsCSV(receipts)], "receipts.csv"))}>
          <Download aria-hidden />
          CSV
        </Button>
      </div>
      <ol
        aria-label="Requests"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls it
        tabIndex={0}
        className="min-h-0 grow divide-y overflow-y-auto -outline-offset-2"
      >
        {receipts.map((receipt) => (
          <li key={receipt.callId} className="flex flex-col gap-1 px-3 py-2 text-sm">
            <p className="flex items-center gap-2">
              <span className="min-w-0 grow truncate font-medium">
                {receipt.chatId === undefined ? (
                  (kinds[receipt.kind] ?? "Asset")
                ) : (
                  <a
                    href={formatRoute("chat", receipt.chatId)}
                    onClick={() => markedMessage.set(receipt.messageId)}
                    className="underline underline-offset-4"
                  >
                    Chat
                  </a>
                )}{" "}
                · {formatModel(receipt.model ?? "")}
              </span>
              <Badge tone={billings[receipt.billing].tone}>{billings[receipt.billing].text}</Badge>
            </p>
            <p className="flex gap-2 text-xs text-muted-foreground tabular-nums">
              <time dateTime={new Date(receipt.startedAt).toISOString()}>
                {new Date(receipt.startedAt).toLocaleString(undefined, {
                  dateStyle: "short",
                  timeStyle: "medium",
                })}
              </time>
              <span className="grow">{describeOutcome(receipt)}</span>
              <bdi>{writeCost([receipt])}</bdi>
            </p>
          </li>
        ))}
      </ol>
    </section>
  );
}

/** Delay before a receipt is written, in milliseconds. */
const WRITE_MS = 200;

/** Returns the receipts, newest first. A receipt is written at the start and at the end of its request. */
function useReceipts(): readonly Receipt[] {
  const [receipts, setReceipts] = useState<readonly Receipt[]>([]);
  useEffect(() => {
    let isLeft = false;
    const read = async () => {
      const list = await listReceipts(client, { storage }).catch(() => []);
      if (!isLeft) setReceipts(list.toReversed());
    };
    void read();
    const unsubscribe = subscribeToEvents(client, ({ type }) => {
      if (type === "request" || type === "end") setTimeout(read, WRITE_MS);
    });
    return () => {
      isLeft = true;
      unsubscribe();
    };
  }, []);
  return receipts;
}

/** Writes the known part of a cost. The cost of a request that may be charged is unknown. */
function writeCost(receipts: readonly Receipt[]): string | undefined {
  return formatCost(calculateCost(receipts, prices));
}

function describeOutcome({ outcome, attempts, startedAt }: Receipt): string {
  const repeated = attempts > 1 ? `, ${attempts} attempts` : "";
  // a pending request of an earlier page: the page was closed, or another tab runs it
  if (outcome === "pending") return startedAt < performance.timeOrigin ? "No end recorded" : "In flight";
  return `${outcome}${repeated}`;
}
