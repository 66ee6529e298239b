/** The page for an unknown address, with links to existing ones. */

import { HOME, go, open, route, type View as Name } from "./route";
import { View } from "./view";

const PLACES: readonly [view: Name, label: string][] = [
  ["inbox", "Inbox"],
  ["incidents", "Incidents"],
  ["jobs", "Jobs"],
  ["topology", "Topology"],
  ["history", "History"],
];

export function WaysOn() {
  return (
    <p class="row">
      <button type="button" class="primary" onClick={() => go(HOME)}>
        Home
      </button>
      {PLACES.map(([view, label]) => (
        <button key={view} type="button" onClick={() => open(view)}>
          {label}
        </button>
      ))}
    </p>
  );
}

export function MissingPage() {
  return (
    <View title="No such page">
      <p class="lead">
        Nothing is at <code>#/{route.value.item}</code>. The address may be mistyped, or from another version.
      </p>
      <WaysOn />
    </View>
  );
}
