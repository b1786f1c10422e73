import type { ErrorMessages } from "./errors/error-messages.js";

/*
 * The German texts do not spread the English ones, so that a missing text is a type error. No sentence uses "du" or "Sie",
 * so that the texts fit every app.
 */

/**
 * German texts of `describeError` and `useAttachments`.
 *
 * @example
 * ```ts
 * const { title, hint } = describeError(new Error("no network"), { messages: errorMessages });
 * ```
 */
export const errorMessages: ErrorMessages = {
  offline: { title: "Keine Verbindung", hint: "Verbindung prüfen, dann noch einmal versuchen." },
  unreachable: { title: "Nicht erreichbar", hint: "Internet prüfen, dann noch einmal versuchen." },
  originRefused: { title: "Seite nicht erlaubt", hint: "Diese Seite in `origins` des Servers eintragen." },
  wrongAddress: { title: "Falsche Adresse", hint: "`baseURL` der App und ihren Proxy prüfen." },
  connectionLost: { title: "Verbindung verloren", hint: "Internet prüfen, dann noch einmal versuchen." },
  timedOut: { title: "Keine Antwort", hint: "Noch einmal versuchen oder anderes Modell wählen." },
  stalled: { title: "Die Antwort stockt", hint: "Bitte noch einmal versuchen." },
  cutOff: { title: "Die Antwort brach ab", hint: "Noch einmal versuchen, um alles zu erhalten." },
  damaged: { title: "Die Antwort war beschädigt", hint: "Bitte noch einmal versuchen." },
  modelFailed: { title: "Fehler im Modell", hint: "Bitte noch einmal versuchen." },
  unreadable: { title: "Unbekannte Antwort", hint: "Noch einmal versuchen oder den Fehler melden." },
  invalidInput: { title: "Bitte Eingabe prüfen", hint: "Markiertes ändern, dann noch einmal versuchen." },
  blindModel: {
    title: "Dieses Modell sieht keine Bilder",
    hint: "Anderes Modell wählen oder Bilder entfernen.",
  },
  refusedInput: { title: "Anfrage abgelehnt", hint: "Eingabe ändern, dann noch einmal versuchen." },
  tooLong: { title: "Zu viel auf einmal", hint: "Kürzen oder einen neuen Chat beginnen." },
  signedOut: { title: "Bitte anmelden", hint: "Anmelden, dann noch einmal versuchen." },
  otherUser: { title: "Jemand anders ist angemeldet", hint: "Seite neu laden oder neu anmelden." },
  forbidden: { title: "Nicht erlaubt", hint: "Zugang anfragen oder anderes Modell wählen." },
  modelNotAllowed: { title: "Modell nicht verfügbar", hint: "Bitte ein anderes Modell wählen." },
  notFound: { title: "Nicht gefunden", hint: "Vielleicht wurde es entfernt." },
  rateLimited: { title: "Zu viele Anfragen", hint: "Kurz warten, dann noch einmal versuchen." },
  budgetUsed: { title: "Grenze erreicht", hint: "Nach dem Zurücksetzen geht es weiter." },
  sharedBudgetUsed: { title: "Grenze für alle erreicht", hint: "Nach dem Zurücksetzen geht es weiter." },
  serviceDown: { title: "Der Dienst ist gestört", hint: "In ein paar Minuten noch einmal versuchen." },
  setup: { title: "Fehler in der Einrichtung", hint: "Bitte den Betreibern dieser App melden." },
  imageFailed: { title: "Dieses Bild ist misslungen", hint: "Eingabe ändern, dann noch einmal versuchen." },
  assetFailed: { title: "Bild nicht angenommen", hint: "Bitte ein anderes Bild wählen." },
  videoFailed: { title: "Das Video ist misslungen", hint: "Eingabe ändern, dann noch einmal versuchen." },
  videoMissing: { title: "Das Video fehlt", hint: "Später noch einmal nachsehen oder den Fehler melden." },
  videoExpired: { title: "Das Video ist abgelaufen", hint: "Zum Ansehen noch einmal erstellen." },
  videoLate: { title: "Das Video dauert zu lange", hint: "Es kann noch fertig werden. Später nachsehen." },
  storageFull: { title: "Der Speicher ist voll", hint: "Alte Chats löschen, um Platz zu schaffen." },
  stopped: { title: "Angehalten", hint: "" },
  unexpected: { title: "Etwas ist schiefgegangen", hint: "Noch einmal versuchen oder den Fehler melden." },
  mayBeBilled: "Eventuell sind Kosten entstanden.",
  attachments: {
    type: "„{name}“ ist kein Bild in JPEG, PNG, GIF oder WebP.",
    size: "„{name}“ ist zu groß. Grenze: {megabytes} MB.",
    number: "„{name}“ wurde nicht hinzugefügt. Grenze: {max} Bilder.",
    unreadable: "„{name}“ ist nicht lesbar.",
  },
};
