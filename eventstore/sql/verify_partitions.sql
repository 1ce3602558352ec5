SELECT low, high FROM es.partition WHERE low <= $1 ORDER BY low
