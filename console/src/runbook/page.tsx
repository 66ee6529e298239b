import { ask } from "../live/session";
import { useAnswer } from "../live/use_answer";
import { Commands } from "../shell/commands";
import { route } from "../shell/route";
import { View } from "../shell/view";
import { RunbookSteps } from "./steps";

/** One runbook by its name; alerts link here. */
export function RunbookPage() {
  const { item, asked } = route.value;
  const { value, trouble, missing } = useAnswer(() => ask().runbookNamed(item, asked["on"] ?? "", asked["part"] ?? ""), `${item} ${asked["on"] ?? ""}`);
  return (
    <View title={value ? `${value.kind}: ${value.title}` : item} what="The runbook" trouble={trouble} missing={missing && !value}>
      {value && (
        <>
          <RunbookSteps book={value} whole />
          <Commands commands={value.commands ?? []} />
        </>
      )}
    </View>
  );
}
