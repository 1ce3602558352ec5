SELECT publish.heal()
